// Names of parameters and the layers that they count. Which of the numbers in a name that is, the
// plan's data says (layer_names.h in src/meshwright/report).

const number = /[0-9]+/g;

function replaced(name: string, place: number, by: (layer: string) => string): string {
  let at = 0;
  return place < 0 ? name : name.replace(number, (value) => (at++ === place ? by(value) : value));
}

/** The name of the same parameter `shift` layers further on. */
export function withLayer(name: string, place: number, shift: number): string {
  return shift === 0 ? name : replaced(name, place, (layer) => String(Number(layer) + shift));
}

/** The name with * for its layer. */
export function layerFolded(name: string, place: number): string {
  return replaced(name, place, () => "*");
}
