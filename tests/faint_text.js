// The texts of a page that stand out from their background by less than 4.5 : 1 (WCAG 2).
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
  const written = (element) => [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  return [...document.querySelectorAll("body *")]
    .filter((element) => element.checkVisibility() && written(element) && !element.matches("script, title") && faint(element))
    .map((element) => element.textContent.trim());
}
