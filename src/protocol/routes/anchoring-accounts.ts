// The route of the service's list of anchoring accounts.
import { AnchorsList } from '../anchoring-accounts.ts';
import { publicRead, type Route } from '../route.ts';

export const anchoringAccountRoutes = {
  getAnchoringAccounts: {
    ...publicRead,
    path: '/.well-known/svc-anchors.json',
    summary: 'Read the list of the accounts that anchor, or once anchored, for this service',
    description:
      'All accounts that are in use sign the list (docs/anchoring.md). Clients may cache it for one minute.',
    cors: true,
    responses: { 200: AnchorsList },
    errors: ['overloaded'],
  },
} as const satisfies Record<string, Route>;
