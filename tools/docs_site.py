"""The hook of `mkdocs.yml`: the site shows what the pages in docs/ link to, wherever it is hosted.

On GitHub a page links to `../src/rle/learn/ppo.py#L10` or `../examples`. The site has a page of its own
for every such file or folder, made here, and the link leads there. README.md is the site's first page.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
DOCS = "docs"
# Pages at the root of the repository and their names on the site.
ROOT_PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
_LINK = re.compile(r"(\]\()([^)#\s]+)(?:#([^)\s]*))?(\))")
_LANGUAGES = {".py": "python", ".toml": "toml", ".xml": "xml", ".cff": "yaml", ".yml": "yaml"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the root's pages, and a page for every file outside docs/ that a page links to."""
    from mkdocs.structure.files import File, InclusionLevel

    linked = set()
    for name, site_name in ROOT_PAGES.items():
        text = (ROOT / name).read_text()
        linked |= _outside(text, name)
        files.append(File.generated(config, site_name, content=_rewrite(text, name, site_name)))
    for file in files.documentation_pages():
        if file.src_uri not in ROOT_PAGES.values():
            linked |= _outside(file.content_string, f"{DOCS}/{file.src_uri}")
    for target in sorted(_with_contents(linked)):
        page = File.generated(
            config, _site_name(target), content=_shown(target), inclusion=InclusionLevel.NOT_IN_NAV
        )
        files.append(page)
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """The page with its links to the repository turned into links to the site."""
    if page.file.generated_by:
        return markdown
    return _rewrite(markdown, f"{DOCS}/{page.file.src_uri}", page.file.src_uri)


def on_page_content(html: str, page: Page, **_: object) -> None:
    """Tell MkDocs, which checks every anchor, of the numbered lines: it knows those of headings only."""
    if page.file.src_uri.startswith("source/"):
        page.present_anchor_ids.update(re.findall(r'id="(__codelineno-[^"]+)"', html))


def _outside(text: str, source: str) -> set[str]:
    """What a page links to that is in the repository and not a page of the site."""
    targets = {_target(link, source) for _, link, _, _ in _LINK.findall(text)}
    return {target for target in targets if target and _site_name(target).startswith("source/")}


def _target(link: str, source: str) -> str | None:
    """A link's file, relative to the root; None if it leads elsewhere or nowhere."""
    if ":" in link:
        return None
    target = os.path.normpath(Path(source).parent / link)
    return target if (ROOT / target).exists() else None


def _site_name(target: str) -> str:
    """The name on the site of a file or folder of the repository."""
    if target in ROOT_PAGES:
        return ROOT_PAGES[target]
    if target.startswith(f"{DOCS}/") and (ROOT / target).is_file():
        return target.removeprefix(f"{DOCS}/")
    return f"source/{target}.md"


def _rewrite(text: str, source: str, site_name: str) -> str:
    """A page's text as it stands at `site_name`, with links that hold there."""

    def rewritten(match: re.Match[str]) -> str:
        before, link, anchor, after = match.groups()
        target = _target(link, source)
        if target is None:
            return match[0]
        if anchor:
            anchor = "#" + re.sub(r"^L(\d+)$", r"__codelineno-0-\1", anchor)
        address = os.path.relpath(_site_name(target), Path(site_name).parent)
        return f"{before}{address}{anchor or ''}{after}"

    return _LINK.sub(rewritten, text)


def _with_contents(targets: set[str]) -> set[str]:
    """The same with the files of each folder."""
    return targets | {file for target in targets for file in _files_of(target)}


def _files_of(target: str) -> list[str]:
    """The Python files in a folder; none if it is a file."""
    return [str(file.relative_to(ROOT)) for file in sorted((ROOT / target).rglob("*.py"))]


def _shown(target: str) -> str:
    """The page of a file, with numbered lines, or of a folder."""
    head = f"---\nsearch:\n  exclude: true\n---\n\n# {target}\n\n"
    if (ROOT / target).is_dir():
        here = Path(_site_name(target)).parent
        links = {file: os.path.relpath(_site_name(file), here) for file in _files_of(target)}
        return head + "\n".join(f"- [{file}]({link})" for file, link in links.items())
    language = _LANGUAGES.get(Path(target).suffix, "text")
    return head + f'````{language} linenums="1"\n{(ROOT / target).read_text()}\n````\n'
