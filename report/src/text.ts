// Characters that are not seen themselves but change what stands beside them: controls, and those
// that turn the direction of text (Unicode Standard Annex 9, sections 2.1 to 2.6). A name that has
// some must neither hide them nor turn round the sentence that it stands in.

const unseen = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/gu;

export interface Piece {
  text: string;
  /** "U+202E" of a character that is not seen; the text is that character. */
  code: string;
}

function codeOf(character: string): string {
  return `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** The text in pieces: what can be seen, and each of the other characters by itself. */
export function piecesOf(text: string): Piece[] {
  const result: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(unseen)) {
    if (match.index > from) result.push({ text: text.slice(from, match.index), code: "" });
    result.push({ text: match[0], code: codeOf(match[0]) });
    from = match.index + match[0].length;
  }
  if (from < text.length) result.push({ text: text.slice(from), code: "" });
  return result;
}

/** The text with the codes of such characters in their place, for what takes nothing but text. */
export function visible(text: string): string {
  return text.replace(unseen, (character) => `‹${codeOf(character)}›`);
}

/** A sentence in parts; the odd ones are names, which stand between U+2068 and U+2069 in it. */
export function partsOf(sentence: string): string[] {
  return sentence.split(/[\u2068\u2069]/u);
}

/** `text` with its middle left out where it is longer than `most`. */
export function shortened(text: string, most: number): string {
  const letters = Array.from(visible(text.length > 4 * most ? text.slice(0, 2 * most) + text.slice(-2 * most) : text));
  if (letters.length <= most) return letters.join("");
  const head = Math.ceil((most - 1) / 2);
  return `${letters.slice(0, head).join("")}…${letters.slice(letters.length - (most - 1 - head)).join("")}`;
}

/** Figures stay in one line with their units. */
export function together(text: string): string {
  return text.replace(/(\d) (%|(?:[KMGTPE]i)?B|[mun]?s|[hd])(?![\w])/g, "$1\u00a0$2");
}
