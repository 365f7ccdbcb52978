// The lists of anchoring accounts that the user saved, by origin.
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { AnchorsList } from '../../protocol/anchoring-accounts.ts';
import type { Context } from '../context.ts';
import { openSavedFile } from '../program/saved-file.ts';

const TrustedServices = Type.Object({ services: Type.Record(Type.String(), AnchorsList) });

type TrustedServices = Static<typeof TrustedServices>;

/** Opens the saved lists. Throws SvcError `config_unusable`. */
export function openTrustedServices({ env, output }: Pick<Context, 'env' | 'output'>) {
  const kind = {
    name: 'trusted-services',
    empty: { services: {} },
    isValid: (found: unknown): found is TrustedServices => Value.Check(TrustedServices, found),
    damaged: (aside: string) =>
      `The file of trusted services was damaged. It was set aside as ${aside}; add them again with svc trust add.`,
  };
  return openSavedFile<TrustedServices>(env, kind, output.warn);
}

/** The file that was set aside as damaged and is still there; null if there is none. `file` was read before. */
export function damagedLists({
  path: file,
}: ReturnType<typeof openTrustedServices>): string | null {
  const [folder, name] = [path.dirname(file), path.basename(file)];
  if (!existsSync(folder)) return null;
  const damaged = readdirSync(folder).find((one) => one.startsWith(`${name}.damaged-`));
  return damaged === undefined ? null : path.join(folder, damaged);
}
