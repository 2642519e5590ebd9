// Builds the page of `penumbra report --html` and writes it as a C file (src/report/html_page.h says
// what is in it).
//
// usage: node build.mjs SOURCE_DIRECTORY WORK_DIRECTORY OUTPUT.c
//
// The packages that package-lock.json pins are installed into the work directory, once: a stamp there
// holds the lock file's hash.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import process from "node:process";

const [source, work, output] = process.argv.slice(2).map((p) => path.resolve(p));

function fail(message) {
  console.error(`web/build.mjs: ${message}`);
  process.exit(1);
}

function hash(text) {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}

function installPackages() {
  const manifests = ["package.json", "package-lock.json"];
  const text = manifests.map((name) => fs.readFileSync(path.join(source, name), "utf8")).join("\n");
  const stamp = path.join(work, "installed");
  if (fs.existsSync(stamp) && fs.readFileSync(stamp, "utf8") === hash(text)) return;
  fs.mkdirSync(work, { recursive: true });
  for (const name of manifests) fs.copyFileSync(path.join(source, name), path.join(work, name));
  const command = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"];
  try {
    execFileSync("npm", command, { cwd: work, stdio: ["ignore", "ignore", "pipe"] });
  } catch (error) {
    fail(
      `installing esbuild with 'npm ${command.join(" ")}' failed. It needs npm and, ` +
        `the first time, its registry. Without them, build without HTML pages: ` +
        `meson configure BUILD -Dhtml=false\n${error.stderr ?? error.message}`,
    );
  }
  fs.writeFileSync(stamp, hash(text));
}

// The licences of the packages that are in the bundle ask to be carried along.
function licences(metafile) {
  const packages = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const found = /node_modules\/([^/]+)\//.exec(input);
    if (found) packages.add(found[1]);
  }
  const byText = new Map();
  for (const name of [...packages].sort()) {
    const directory = path.join(work, "node_modules", name);
    const { version } = JSON.parse(fs.readFileSync(path.join(directory, "package.json"), "utf8"));
    const text = fs.readFileSync(path.join(directory, "LICENSE"), "utf8").trim();
    // The Apache licence is long and is this project's own: its name is enough.
    const short = /Apache License/.test(text) ? "Apache License, Version 2.0" : text;
    byText.set(short, [...(byText.get(short) ?? []), `${name} ${version}`]);
  }
  const parts = [...byText].map(([text, names]) => `${names.join(", ")}:\n\n${text}`);
  return `/*! In this page:\n\n${parts.join("\n\n\n").replaceAll("*/", "* /")}\n*/\n`;
}

function bundle(esbuild) {
  const result = esbuild.buildSync({
    entryPoints: [path.join(source, "src/main.js")],
    absWorkingDir: source,
    nodePaths: [path.join(work, "node_modules")],
    bundle: true,
    format: "iife",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    minify: true,
    loader: { ".css": "empty" },
    metafile: true,
    outdir: work,
    write: false,
    logLevel: "warning",
  });
  return licences(result.metafile) + result.outputFiles[0].text;
}

function page(esbuild) {
  const script = bundle(esbuild);
  const css = fs.readFileSync(path.join(source, "src/style.css"), "utf8");
  const style = esbuild.transformSync(css, { loader: "css", minify: true }).code;
  // In a page, a script or style ends at the first "</", whatever it means in it.
  if (/<\/script|<!--/i.test(script) || /<\//.test(style)) fail("the bundle would end its own element");
  const fields = {
    "@SCRIPT_HASH@": hash(script),
    "@STYLE_HASH@": hash(style),
    "@STYLE@": style,
    "@SCRIPT@": script,
  };
  let html = fs.readFileSync(path.join(source, "src/page.html"), "utf8");
  for (const [field, text] of Object.entries(fields)) html = html.replace(field, () => text);
  return html;
}

// The page is cut where the title and the profile go.
function cut(html) {
  const [head, afterTitle] = html.split("@TITLE@");
  const [middle, tail] = afterTitle.split("@PROFILE@");
  if (head === undefined || tail === undefined) fail("src/page.html lacks @TITLE@ or @PROFILE@");
  return [head, middle, tail];
}

function cArray(name, text) {
  const bytes = [...Buffer.from(text, "utf8")];
  const lines = [];
  for (let i = 0; i < bytes.length; i += 24) lines.push(bytes.slice(i, i + 24).join(","));
  return `static const unsigned char ${name}[] = {\n${lines.join(",\n")}\n};\n`;
}

installPackages();
const esbuild = createRequire(path.join(work, "package.json"))("esbuild");
const parts = cut(page(esbuild));
const names = ["head", "middle", "tail"];
fs.writeFileSync(
  output,
  '#include "report/html_page.h"\n\n' +
    parts.map((text, i) => cArray(names[i], text)).join("\n") +
    "\nconst struct html_page html_page = {\n" +
    names.map((name) => `    {${name}, sizeof ${name}},\n`).join("") +
    "};\n",
);
