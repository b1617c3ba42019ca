"""What the page in the browser has besides textual-serve's own: room, focus, and keys for a phone.

Without it a phone lays the page out 980 pixels wide, and no key reaches the terminal before the
first click.
"""

from __future__ import annotations

_COLUMNS = 64
"""Columns that are shown at least; the app needs 60."""

_CHARACTER = 0.6
"""Width of a character, as a fraction of the font's size."""

_SMALLEST, _LARGEST = 8, 16
"""Sizes of the font in pixels; textual-serve's own is the largest."""

KEYS = {
    "esc": ("Escape", 27),
    "tab": ("Tab", 9),
    "↑": ("ArrowUp", 38),
    "↓": ("ArrowDown", 40),
    "enter": ("Enter", 13),
    "/": ("/", 191),
    "help": ("F1", 112),
}
"""Keys that a phone's keyboard does not have: label, name and number in browsers."""

_STYLE = """
html, body { margin: 0; height: 100%; overflow: hidden; touch-action: manipulation; }
.textual-terminal { position: absolute; width: 100vw !important; height: 100dvh !important; }
.intro { width: auto; max-width: 90vw; }
#keys { display: none; }
@media (pointer: coarse) {
  .textual-terminal { height: calc(100dvh - 48px) !important; }
  #keys {
    position: absolute; left: 0; right: 0; bottom: 0; height: 48px; z-index: 5; display: flex;
    background: #14171b;
  }
  body #keys button {
    flex: 1; margin: 2px; padding: 0; min-width: 0; border-radius: 4px;
    background: #2a2f37; color: #d8dee6; font: 14px sans-serif;
  }
}
"""

_SCRIPT = """
const url = new URL(location.href);
if (!url.searchParams.has("fontsize")) {
  const fits = Math.floor(innerWidth / (COLUMNS * CHARACTER));
  const size = Math.max(SMALLEST, Math.min(LARGEST, fits));
  if (size < LARGEST) {
    url.searchParams.set("fontsize", size);
    location.replace(url);
  }
}
const typed = () => document.querySelector(".xterm-helper-textarea");
function press(key, code) {
  const event = new KeyboardEvent("keydown", {key: key, bubbles: true, cancelable: true});
  // What the terminal reads, and no constructor sets.
  Object.defineProperty(event, "keyCode", {get: () => code});
  typed()?.dispatchEvent(event);
}
addEventListener("DOMContentLoaded", () => {
  const line = document.createElement("div");
  line.id = "keys";
  for (const [label, key, code] of KEYS) {
    const button = document.createElement("button");
    button.textContent = label;
    button.onpointerdown = (event) => { event.preventDefault(); press(key, code); };
    line.append(button);
  }
  document.body.append(line);
  const focus = () => typed()?.focus({preventScroll: true});
  new MutationObserver(focus).observe(document.body, {attributes: true});
  new MutationObserver((_, self) => { if (typed()) { focus(); self.disconnect(); } }).observe(
    document.getElementById("terminal"), {childList: true, subtree: true}
  );
  addEventListener("focus", focus);
  // Keys that come before the terminal has the focus are typed into it all the same.
  addEventListener("keydown", (event) => {
    if (event.isTrusted && event.target === document.body && typed()) {
      event.preventDefault();
      focus();
      press(event.key, event.keyCode);
    }
  });
});
"""


def page_head() -> str:
    """HTML for the page's head: it fits any width, takes keys at once, and has touch keys."""
    import json

    script = (
        _SCRIPT.replace("COLUMNS", str(_COLUMNS))
        .replace("CHARACTER", str(_CHARACTER))
        .replace("SMALLEST", str(_SMALLEST))
        .replace("LARGEST", str(_LARGEST))
        .replace("KEYS", json.dumps([[label, *key] for label, key in KEYS.items()]))
    )
    width = "width=device-width, initial-scale=1, interactive-widget=resizes-content"
    return (
        f'<meta name="viewport" content="{width}"><style>{_STYLE}</style><script>{script}</script>'
    )
