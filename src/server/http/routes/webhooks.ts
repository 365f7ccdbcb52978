// Handlers for webhooks, alerts and alert rules.
import {
  acknowledgeAlert,
  acknowledgeAlerts,
  deleteRule,
  listAlerts,
  saveRule,
} from '../../core/alerts.ts';
import type { Deps } from '../../core/deps.ts';
import {
  createWebhook,
  deleteWebhook,
  listDeliveries,
  listWebhooks,
  patchWebhook,
  replayDelivery,
  rotateSecret,
  testWebhook,
} from '../../core/webhooks/webhooks.ts';
import type { Handlers } from '../server/call.ts';

export function webhookHandlers(deps: Deps) {
  return {
    createWebhook: ({ caller, body }) => createWebhook(deps, caller, body),
    listWebhooks: ({ caller, query }) => listWebhooks(deps, caller.wallet, query),
    patchWebhook: ({ caller, params, body }) => patchWebhook(deps, caller, params.id, body),
    rotateWebhookSecret: ({ caller, params }) => rotateSecret(deps, caller, params.id),
    deleteWebhook: ({ caller, params }) => deleteWebhook(deps, caller, params.id),
    testWebhook: ({ caller, params }) => testWebhook(deps, caller.wallet, params.id),
    listWebhookDeliveries: ({ caller, params, query }) =>
      listDeliveries(deps, caller.wallet, params.id, query),
    async replayWebhookDelivery({ caller, params }) {
      await replayDelivery(deps, caller.wallet, params.id);
      return { replayed: true };
    },
    listAlertRules: async ({ caller }) => ({
      rules: await deps.store.listAlertRules(caller.wallet),
    }),
    saveAlertRule: ({ caller, body }) => saveRule(deps, caller, body),
    deleteAlertRule: ({ caller, params }) => deleteRule(deps, caller, params.kind),
    listAlerts: ({ caller, query }) => listAlerts(deps, caller.wallet, query),
    acknowledgeAlerts: ({ caller, body }) => acknowledgeAlerts(deps, caller.wallet, body),
    acknowledgeAlert: ({ caller, params }) => acknowledgeAlert(deps, caller.wallet, params.id),
  } satisfies Partial<Handlers>;
}
