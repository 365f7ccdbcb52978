// Handlers for webhooks, alerts and alert rules.
import { acknowledgeAlert, deleteRule, listAlerts } from '../../core/alerts.ts';
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
} from '../../core/webhooks.ts';
import type { Handlers } from '../server/call.ts';

export function webhookHandlers(deps: Deps) {
  return {
    async createWebhook({ caller, body }) {
      return { status: 201, body: await createWebhook(deps, caller, body) };
    },
    async listWebhooks({ caller, query }) {
      return { status: 200, body: await listWebhooks(deps, caller.wallet, query) };
    },
    async patchWebhook({ caller, params, body }) {
      return { status: 200, body: { webhook: await patchWebhook(deps, caller, params.id, body) } };
    },
    async rotateWebhookSecret({ caller, params }) {
      return { status: 200, body: await rotateSecret(deps, caller, params.id) };
    },
    async deleteWebhook({ caller, params }) {
      await deleteWebhook(deps, caller, params.id);
      return { status: 200, body: { deleted: true } };
    },
    async testWebhook({ caller, params }) {
      const delivery = await testWebhook(deps, caller.wallet, params.id);
      return { status: 200, body: { delivery } };
    },
    async listWebhookDeliveries({ caller, params, query }) {
      return { status: 200, body: await listDeliveries(deps, caller.wallet, params.id, query) };
    },
    async replayWebhookDelivery({ caller, params }) {
      await replayDelivery(deps, caller.wallet, params.id);
      return { status: 200, body: { replayed: true } };
    },
    async listAlertRules({ caller }) {
      return { status: 200, body: { rules: await deps.store.listAlertRules(caller.wallet) } };
    },
    async saveAlertRule({ caller, body }) {
      await deps.store.saveAlertRule(caller.wallet, body);
      return { status: 200, body: { rule: body } };
    },
    async deleteAlertRule({ caller, params }) {
      await deleteRule(deps, caller.wallet, params.kind);
      return { status: 200, body: { deleted: true } };
    },
    async listAlerts({ caller, query }) {
      return { status: 200, body: await listAlerts(deps, caller.wallet, query) };
    },
    async acknowledgeAlert({ caller, params }) {
      return {
        status: 200,
        body: { alert: await acknowledgeAlert(deps, caller.wallet, params.id) },
      };
    },
  } satisfies Partial<Handlers>;
}
