"""Each setting that a shipped handler reads is in its page in config/handlers, and each of the page is read."""
import re
import sys
from pathlib import Path

root = Path(sys.argv[1])
READ = re.compile(r'(?:settings\.(?:text|number|boolean|duration|has)\(|(?:file|map)_of\(settings, )"([a-z0-9_]+)"')
ROW = re.compile(r"^\| ((?:`[a-z0-9_]+`(?:, )?)+) \|", re.M)
mistakes = []
for folder in sorted((root / "src/handlers").iterdir()):
    if not (folder / "CMakeLists.txt").exists():
        continue
    page = root / "config/handlers" / f"{folder.name}.md"
    source = "".join(path.read_text() for path in sorted(folder.glob("*.cpp")))
    table = page.read_text().partition("| setting | meaning |")[2].partition("\n\n")[0]
    read = set(READ.findall(source))
    told = {name for row in ROW.findall(table) for name in re.findall(r"`([a-z0-9_]+)`", row)}
    mistakes += [f"{page.relative_to(root)}: setting {name} is missing" for name in sorted(read - told)]
    mistakes += [f"{page.relative_to(root)}: the handler has no setting {name}" for name in sorted(told - read)]
print("\n".join(mistakes))
sys.exit(bool(mistakes))
