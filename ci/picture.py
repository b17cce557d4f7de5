"""Makes docs/images/player.png, which README.md shows: the page of its program, opened in Chromium.

    python3 ci/run.py picture

Run it when the player's page has changed. It needs Chromium, as `ci/run.py browser` does.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "images" / "player.png"
REPLICAS = 3
WIDTH, HEIGHT = 1280, 760
KEY = "u"
"""It leads to the first step with unequal parts."""


def main() -> int:
    chromium = shutil.which("chromium")
    if chromium is None:
        print("There is no chromium: python3 ci/run.py browser installs it where apt is at hand.", file=sys.stderr)
        return 2
    (program,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.M | re.S)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "first.py").write_text(program, encoding="utf-8")
        command = ["play", "first.py", "--replicas", str(REPLICAS), "-o", "page.html"]
        subprocess.run([sys.executable, "-m", "simstrategy", *command], cwd=folder, check=True)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            tab = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
            tab.goto(f"file://{folder / 'page.html'}")
            tab.wait_for_selector("html[data-ready]", state="attached")
            tab.keyboard.press(KEY)
            PICTURE.parent.mkdir(exist_ok=True)
            tab.screenshot(path=str(PICTURE))
            browser.close()
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size // 1024} KB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
