// Renders the formulas that pymdownx.arithmatex has marked; KaTeX is part of the site.
for (const place of document.querySelectorAll(".arithmatex")) {
  const display = place.tagName === "DIV";
  katex.render(place.textContent.replace(/^\\[([]|\\[)\]]$/g, ""), place, { displayMode: display, throwOnError: true });
}
