'use strict';
// Strings, JSON and regular expressions.
const size = Number(process.argv[2]);

function document(n) {
    const rows = [];
    for (let i = 0; i < n; i++)
        rows.push({id: i, name: `name ${i * 7919 % 10007}`, tags: ['a' + i % 7, 'b' + i % 11], place: {x: i / 3, y: -i},
                   toJSON: i % 2 ? undefined : function () { return {...this, toJSON: undefined, even: true}; }});
    return rows;
}

function words(text) {
    const counts = {};
    for (const [, key, value] of text.matchAll(/"([a-z]+)":("[^"]*"|[-\d.]+)/g))
        counts[key] = (counts[key] || 0) + value.length;
    return counts;
}

let sum = 0;
for (let i = 0; i < size * 12; i++) {
    const text = JSON.stringify(document(6000 + i));
    const again = JSON.parse(text, (key, value) => key === 'x' ? Math.round(value) : value);
    sum += again.length + JSON.stringify(again, null, 2).length;
    sum += Object.values(words(text)).reduce((a, b) => a + b);
    sum += text.split(',').map(s => s.toUpperCase().padStart(20).trim()).join('|').length;
    sum += (text.match(/(?:name|tags|even)[^,}]*[,}]/g) || []).length + Buffer.from(text).toString('base64').length;
    let built = '';
    for (let k = 0; k < 60000; k++)
        built += String.fromCharCode(97 + k % 26);
    sum += built.indexOf('zz') + encodeURIComponent(built).length + built.localeCompare(text);
}
console.log(sum);
