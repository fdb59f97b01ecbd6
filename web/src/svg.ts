// A drawing context that writes SVG: as much of a canvas as pictures use.

type Style = string | CanvasPattern | CanvasGradient;

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (it) => `&#${it.charCodeAt(0)};`);
}

function n(value: number): string {
  return String(Math.round(value * 100) / 100);
}

export class SvgContext {
  fillStyle: Style = "#000";
  strokeStyle: Style = "#000";
  lineWidth = 1;
  font = "12px sans-serif";
  textAlign: CanvasTextAlign = "left";
  textBaseline: CanvasTextBaseline = "alphabetic";
  imageSmoothingEnabled = true;

  private readonly parts: string[] = [];
  private readonly patterns: string[] = [];
  private path: string[] = [];
  private turn = "";
  private readonly kept: string[] = [];
  private readonly measure = document.createElement("canvas").getContext("2d");

  constructor(private readonly width: number, private readonly height: number, background: string) {
    this.parts.push(`<rect width="${width}" height="${height}" fill="${escaped(background)}"/>`);
  }

  save(): void {
    this.kept.push(this.turn);
  }

  restore(): void {
    this.turn = this.kept.pop() ?? "";
  }

  translate(x: number, y: number): void {
    this.turn += `translate(${n(x)} ${n(y)})`;
  }

  rotate(angle: number): void {
    this.turn += `rotate(${n((180 * angle) / Math.PI)})`;
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    if (width > 0 && height > 0) this.add(`<rect x="${n(x)}" y="${n(y)}" width="${n(width)}" height="${n(height)}" fill="${this.paint(this.fillStyle)}"/>`);
  }

  clearRect(): void {
    // The background stands already.
  }

  beginPath(): void {
    this.path = [];
  }

  moveTo(x: number, y: number): void {
    this.path.push(`M${n(x)} ${n(y)}`);
  }

  lineTo(x: number, y: number): void {
    this.path.push(`L${n(x)} ${n(y)}`);
  }

  closePath(): void {
    this.path.push("Z");
  }

  fill(): void {
    this.add(`<path d="${this.path.join("")}" fill="${this.paint(this.fillStyle)}"/>`);
  }

  stroke(): void {
    this.add(`<path d="${this.path.join("")}" fill="none" stroke="${this.paint(this.strokeStyle)}" stroke-width="${n(this.lineWidth)}"/>`);
  }

  measureText(text: string): { width: number } {
    if (!this.measure) return { width: 7 * text.length };
    this.measure.font = this.font;
    return this.measure.measureText(text);
  }

  fillText(text: string, x: number, y: number): void {
    const anchor = { left: "start", start: "start", center: "middle", right: "end", end: "end" }[this.textAlign];
    const size = Number(/(\d+(?:\.\d+)?)px/.exec(this.font)?.[1] ?? 12);
    const weight = /^(bold|[5-9]00)/.test(this.font) ? ' font-weight="600"' : "";
    const down = this.textBaseline === "middle" ? 0.35 * size : this.textBaseline === "top" ? 0.8 * size : 0;
    this.add(`<text x="${n(x)}" y="${n(y + down)}" text-anchor="${anchor}" font-size="${size}"${weight} fill="${this.paint(this.fillStyle)}">${escaped(text)}</text>`);
  }

  /** A picture of cells, each of which is a pixel. */
  drawImage(image: CanvasImageSource, x: number, y: number, width: number, height: number): void {
    const url = urlOf(image);
    if (url) this.add(`<image href="${url}" x="${n(x)}" y="${n(y)}" width="${n(width)}" height="${n(height)}" preserveAspectRatio="none" style="image-rendering:pixelated"/>`);
  }

  createPattern(image: CanvasImageSource): CanvasPattern | null {
    const size = image as { width: number; height: number };
    const id = `p${this.patterns.length}`;
    this.patterns.push(`<pattern id="${id}" width="${size.width}" height="${size.height}" patternUnits="userSpaceOnUse"><image href="${urlOf(image)}" width="${size.width}" height="${size.height}"/></pattern>`);
    return `url(#${id})` as unknown as CanvasPattern;
  }

  text(): string {
    const defined = this.patterns.length > 0 ? `<defs>${this.patterns.join("")}</defs>` : "";
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}" font-family="Helvetica, Arial, sans-serif">${defined}${this.parts.join("\n")}</svg>\n`;
  }

  private add(part: string): void {
    this.parts.push(this.turn ? `<g transform="${this.turn}">${part}</g>` : part);
  }

  private paint(style: Style): string {
    return escaped(String(style));
  }
}

function urlOf(image: CanvasImageSource): string | undefined {
  const { width, height } = image as { width: number; height: number };
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  canvas.getContext("2d")?.drawImage(image, 0, 0);
  return canvas.toDataURL();
}
