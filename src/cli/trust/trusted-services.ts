// The lists of anchoring accounts that the user saved, by origin.
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { AnchorsList } from '../../protocol/anchoring-accounts.ts';
import type { Context } from '../program/context.ts';
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
