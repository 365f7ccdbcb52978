// The lists of anchoring accounts that the user saved, by origin.
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { AnchorsList } from '../../protocol/anchoring-accounts.ts';
import { Timestamp } from '../../protocol/fields.ts';
import type { Context } from '../program/context.ts';
import { openSavedFile, type SavedFile } from '../program/saved-file.ts';

const SavedService = Type.Object({ list: AnchorsList, saved_at: Timestamp });
const TrustedServices = Type.Object({ services: Type.Record(Type.String(), SavedService) });

export type SavedService = Static<typeof SavedService>;
export type TrustedServices = Static<typeof TrustedServices>;

/** Opens the saved lists. Throws SvcError `config_unusable`. */
export function openTrustedServices({
  env,
  output,
}: Pick<Context, 'env' | 'output'>): SavedFile<TrustedServices> {
  const kind = {
    name: 'trusted-services',
    empty: { services: {} },
    isValid: (found: unknown): found is TrustedServices => Value.Check(TrustedServices, found),
    damaged: (aside: string) =>
      `The file of trusted services was damaged. It was set aside as ${aside}; add them again with svc trust add.`,
  };
  return openSavedFile<TrustedServices>(env, kind, output.warn);
}

/** The saved list of an origin; null if there is none. */
export function savedService({ services }: TrustedServices, url: string): SavedService | null {
  return Object.hasOwn(services, url) ? (services[url] ?? null) : null;
}
