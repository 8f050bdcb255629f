"""Finds text with too little contrast."""

# Text whose contrast with its background is below WCAG's 4.5 (3 for large text).
CONTRAST = """
const luminance = (color) => {
  const parts = color.map((part) => part / 255).map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
};
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const rgba = (color) => {
  canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
};
const behind = (element) => {
  for (let one = element; one; one = one.parentElement) {
    const color = rgba(getComputedStyle(one).backgroundColor);
    if (color[3] === 255) return color;
  }
  return [255, 255, 255];
};
return [...document.querySelectorAll("body *")].filter((one) =>
    one.offsetParent && !one.closest(":disabled") &&
    [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
  .map((one) => {
    const style = getComputedStyle(one);
    const [front, back] = [luminance(rgba(style.color)), luminance(behind(one))];
    const contrast = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
    const isLarge = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    return [contrast, isLarge ? 3 : 4.5, `${one.className} ${one.textContent.trim().slice(0, 30)}`];
  }).filter(([contrast, least]) => contrast < least);
"""
