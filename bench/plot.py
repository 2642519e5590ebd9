"""Small plots as SVG: one bar a column (the mean over programs) and one dot a program."""
import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 720, 260
LEFT, RIGHT, TOP, BOTTOM = 56, 8, 30, 52
STYLE = ("text{font:11px sans-serif;fill:#333}.t{font-size:13px}.g{stroke:#ddd}.b{fill:#9db8d9}"
         ".d{fill:#222;fill-opacity:.55}.p{stroke:#c33;stroke-width:1.5;stroke-dasharray:4 3}")


def step_for(span):
    """A round step that makes four to eight lines."""
    raw = span / 6
    power = 10 ** math.floor(math.log10(raw))
    return next(power * m for m in (1, 2, 5, 10) if power * m >= raw)


def text(x, y, words, anchor="middle", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escape(words)}</text>'


def axis(low, high, y):
    step, out = step_for(high - low), []
    value = math.ceil(low / step) * step
    while value <= high + step / 1000:
        out += [f'<line class="g" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>',
                text(LEFT - 5, y(value) + 4, f"{value:g}" if abs(value) > step / 1000 else "0", "end")]
        value += step
    return out


def column(x, wide, y, zero, values, words):
    mean = sum(values) / len(values)
    top, bottom = sorted((y(mean), zero))
    out = [f'<rect class="b" x="{x - wide / 2:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{bottom - top:.1f}"/>']
    out += [f'<circle class="d" cx="{x:.1f}" cy="{y(v):.1f}" r="2"/>' for v in values]
    for i, word in enumerate(words):
        out.append(text(x, HEIGHT - BOTTOM + 15 + 13 * i, word))
    return out


def bars(title, unit, columns, paper=(), least=None):
    """columns: (words below, values of the programs); paper: (first column, last column, value) of dashed lines;
    least: where the axis begins (default 0, or below what is smallest)."""
    every = [v for _, values in columns for v in values] + [p[2] for p in paper]
    low = min(0, *every) if least is None else min(least, *every)
    high = max(*every, low + 1e-9)
    scale = (HEIGHT - TOP - BOTTOM) / ((high - low) or 1)

    def y(value):
        return HEIGHT - BOTTOM - (value - low) * scale
    gap = (WIDTH - LEFT - RIGHT) / len(columns)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"><style>{STYLE}</style>',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>', text(LEFT, 16, f"{title} ({unit})", "start", ' class="t"')]
    out += axis(low, high, y)
    for i, (words, values) in enumerate(columns):
        out += column(LEFT + gap * (i + 0.5), gap * 0.6, y, y(max(low, 0)), values, words)
    for first, last, value in paper:
        out.append(f'<line class="p" x1="{LEFT + gap * first:.1f}" x2="{LEFT + gap * (last + 1):.1f}" y1="{y(value):.1f}" '
                   f'y2="{y(value):.1f}"/>')
    return "\n".join(out) + "\n</svg>\n"
