// The route of the service's list of anchoring accounts.
import { AnchorsList } from '../anchoring-accounts.ts';
import { publicRead, type Route } from '../route.ts';

export const anchoringAccountRoutes = {
  getAnchoringAccounts: {
    ...publicRead,
    path: '/.well-known/svc-anchors.json',
    summary: 'Read the list of the accounts that anchor, or once anchored, for this service',
    description:
      'Each account signs its own entry once. All accounts that are in use sign the list. `svc trust add` checks the signatures and saves the list. Clients may cache the response for one minute.',
    cors: true,
    responses: { 200: AnchorsList },
    errors: ['overloaded'],
  },
} as const satisfies Record<string, Route>;
