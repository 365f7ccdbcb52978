// Finds the name that a caller probably meant.

/** More mistakes make another word. */
const MOST_MISTAKES = 3;

/**
 * The known name with the fewest mistakes: letters that are missing, added, changed or swapped, upper case and separators
 * aside. Null if no name has at most 3 mistakes, and fewer than half of the letters of the word.
 */
export function nearestName(word: string, names: readonly string[]): string | null {
  const meant = plain(word);
  const most = Math.min(MOST_MISTAKES, Math.floor((meant.length - 1) / 2));
  let nearest: string | null = null;
  let fewest = most + 1;
  for (const name of names) {
    const known = plain(name);
    if (Math.abs(known.length - meant.length) >= fewest) continue;
    const mistakes = mistakesBetween(meant, known);
    if (mistakes < fewest) [nearest, fewest] = [name, mistakes];
  }
  return nearest;
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '');
}

/** The optimal string alignment distance. */
function mistakesBetween(word: string, name: string): number {
  const rows: number[][] = [];
  const at = (i: number, j: number) => rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (let i = 0; i <= word.length; i += 1) {
    const row: number[] = [];
    rows.push(row);
    for (let j = 0; j <= name.length; j += 1) {
      const isSame = word[i - 1] === name[j - 1];
      const isSwapped = word[i - 1] === name[j - 2] && word[i - 2] === name[j - 1];
      const changed = at(i - 1, j - 1) + (isSame ? 0 : 1);
      const swapped = isSwapped ? at(i - 2, j - 2) + 1 : changed;
      row[j] =
        i === 0 || j === 0 ? i + j : Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, changed, swapped);
    }
  }
  return at(word.length, name.length);
}
