"""Each setting that a shipped handler reads is in its table settings.hpp, and each of the table is read."""
import re
import sys
from pathlib import Path

root = Path(sys.argv[1])
READ = re.compile(r'(?:settings\.(?:text|number|boolean|duration|has)\(|(?:file|map)_of\(settings, )"([a-z0-9_]+)"')
ROW = re.compile(r'Setting\{\s*"([a-z0-9_]+)",')
mistakes = []
for folder in sorted((root / "src/handlers").iterdir()):
    if not (folder / "CMakeLists.txt").exists():
        continue
    table = folder / "settings.hpp"
    source = "".join(path.read_text() for path in sorted(folder.glob("*.cpp")))
    read = set(READ.findall(source))
    told = set(ROW.findall(table.read_text()))
    mistakes += [f"{table.relative_to(root)}: setting {name} is missing" for name in sorted(read - told)]
    mistakes += [f"{table.relative_to(root)}: the handler has no setting {name}" for name in sorted(told - read)]
print("\n".join(mistakes))
sys.exit(bool(mistakes))
