// Names of parameters and the layers that they count. Which of the numbers in a name that is, the
// plan's data says (layer_names.h in src/meshwright/report).

const number = /[0-9]+/g;

/** The name with * for its layer, the `place`-th number in it. */
export function layerFolded(name: string, place: number): string {
  let at = 0;
  return place < 0 ? name : name.replace(number, (value) => (at++ === place ? "*" : value));
}
