import { SvcError } from '../base/svc-error.ts';
import type { Context } from './context.ts';

/**
 * Lets a dangerous command go on: with --yes, or when the person types the name of what it is about. Throws
 * `usage` where nobody can be asked, and `not_confirmed` for another answer.
 */
export async function confirmByName(
  { output, prompt }: Context,
  { yes, name, consequence }: { yes: boolean; name: string; consequence: string },
): Promise<void> {
  if (yes) return;
  const person = await prompt();
  if (!person.isPossible) {
    throw new SvcError('usage', `Nobody can be asked whether to do this. ${consequence}`, {
      hint: 'Repeat it with --yes if that is what you want.',
    });
  }
  process.stderr.write(`${consequence}\n`);
  const answer = await person.line(`Type the name ${output.quote(name)} to go on: `);
  if (answer.trim() !== name.trim()) {
    throw new SvcError('not_confirmed', 'That is not the name; nothing was changed.');
  }
}
