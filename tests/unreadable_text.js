// The texts of a page that cannot be read: faint (less than 4.5 : 1, WCAG 2), cut off by a box that does not scroll, or
// drawn over one another.
() => {
  const channels = (color) => color.match(/[\d.]+/g).map(Number);
  const luminance = (color) => {
    const [r, g, b] = channels(color).map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if ((channels(color)[3] ?? 1) > 0) return color;
    }
    return "rgb(255, 255, 255)";
  };
  const faint = (element) => {
    const style = getComputedStyle(element);
    const [low, high] = [element instanceof SVGElement ? style.fill : style.color, background(element)].map(luminance).sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05) < 4.5;
  };

  // What is seen of a line of text: less where a box scrolls; on a layer of its own where a box stays in its place.
  const seen = (element, line) => {
    let { left, right, top, bottom } = line, layer = null, cut = false;
    for (let at = element; at && at !== document.body; at = at.parentElement) {
      const style = getComputedStyle(at), box = at.getBoundingClientRect();
      if (style.overflowX !== "visible" && style.display !== "inline") {
        const hides = style.overflowX !== "auto" && style.overflowX !== "scroll";
        cut ||= hides && (left < box.left - 1 || right > box.right + 1 || top < box.top - 3 || bottom > box.bottom + 3);
        [left, right, top, bottom] = [Math.max(left, box.left), Math.min(right, box.right), Math.max(top, box.top), Math.min(bottom, box.bottom)];
      }
      if (["fixed", "sticky", "absolute"].includes(style.position)) layer ??= at;
    }
    return { element, layer, cut, left, right, top, bottom };
  };
  const over = (a, b) =>
    a.element !== b.element && a.layer === b.layer && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 0.5 * Math.min(a.bottom - a.top, b.bottom - b.top);

  const found = [], lines = [];
  const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (nodes.nextNode()) {
    const element = nodes.currentNode.parentElement, text = nodes.currentNode.data.trim();
    if (!text || !element.checkVisibility({ visibilityProperty: true }) || element.closest("script, title, noscript")) continue;
    if (faint(element)) found.push(`faint: ${text}`);
    if (element.closest("math, option, .unseen")) continue;
    const range = document.createRange();
    range.selectNodeContents(nodes.currentNode);
    for (const line of range.getClientRects()) {
      const part = seen(element, line);
      if (part.cut) found.push(`cut: ${text}`);
      else if (part.right - part.left > 1 && part.right > 0 && part.left < innerWidth) lines.push({ ...part, text });
    }
  }
  lines.sort((a, b) => a.top - b.top);
  lines.forEach((a, k) => {
    for (let n = k + 1; n < lines.length && lines[n].top < a.bottom; n++) if (over(a, lines[n])) found.push(`over: ${a.text} | ${lines[n].text}`);
  });
  return found;
}
