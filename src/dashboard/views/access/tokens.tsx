// The account's tokens and sessions: lists, creation and revocation.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { limits } from '../../../protocol/limits.ts';
import type { TokenScope } from '../../../protocol/tokens.ts';
import { ask } from '../../api.ts';
import { reading } from '../../queries.ts';
import { Badge } from '../../ui/badge.tsx';
import { Card } from '../../ui/card.tsx';
import { FormDialog } from '../../ui/dialog.tsx';
import { DialogButton } from '../../ui/dialog-button.tsx';
import { Choice, NameField, useField } from '../../ui/fields.tsx';
import { useNameCheck } from '../../ui/name-check.tsx';
import { showSecret } from '../../ui/secret-dialog.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { Ago } from '../../ui/time.tsx';
import { RevocableTable } from './revocable-table.tsx';

const DAYS: typeof limits.tokenDays = 90;
const DAYS_MAX: typeof limits.tokenDaysMax = 365;
const lifetimes = [DAYS, 7, 30, DAYS_MAX].map((days) => ({
  value: String(days),
  label: `${days} days`,
}));

const tokensQuery = reading(['tokens'], 'GET /api/v1/tokens', { query: { limit: '50' } });

export function Tokens() {
  const tokens = useQuery(tokensQuery);
  return (
    <Card
      title="Account tokens"
      actions={<DialogButton size="xs" label="Create token" dialog={CreateToken} />}
    >
      <Loaded query={tokens} what="tokens">
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No tokens">A token lets a script act for your account.</Empty>
          ) : (
            <RevocableTable
              label="Tokens"
              revoke={(id) => ask('DELETE /api/v1/tokens/:id', { params: { id } })}
              items={items.map(({ id, name, scope, last_used_at, expires_at }) => ({
                id,
                name,
                ends: expires_at,
                detail: (
                  <>
                    {scope}, {last_used_at ? 'used ' : 'never used'}
                    {last_used_at && <Ago at={last_used_at} />}
                  </>
                ),
              }))}
            />
          )
        }
      </Loaded>
    </Card>
  );
}

export function Sessions() {
  const query = { limit: '200' };
  const sessions = useQuery(reading(['sessions'], 'GET /api/v1/sessions', { query }));
  return (
    <Card title="Sessions">
      <Loaded query={sessions} what="sessions">
        {({ items }) => (
          <RevocableTable
            label="Open sessions"
            revoke={(id) => ask('DELETE /api/v1/sessions/:id', { params: { id } })}
            items={items.map(({ id, signed_in_with, created_at, expires_at, current }) => ({
              id,
              name: signed_in_with === 'wallet' ? 'Wallet signature' : 'Command line',
              ends: expires_at,
              detail: (
                <>
                  signed in <Ago at={created_at} />
                </>
              ),
              ...(current && { stays: <Badge tone="good">this session</Badge> }),
            }))}
          />
        )}
      </Loaded>
    </Card>
  );
}

/** Creates a token, whose secret is shown once. */
function CreateToken({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const [name, nameField] = useField();
  const { isFree, warning } = useNameCheck(name, useQuery(tokensQuery).data?.items);
  const [scope, setScope] = useState<TokenScope>('read');
  const [days, daysField] = useField(String(DAYS));
  const create = async () => {
    const body = { name, scope, expires_in_days: Number(days) };
    const { token, secret: value } = await ask('POST /api/v1/tokens', { body });
    showSecret(queries, { what: 'token', of: token.name, value });
  };
  return (
    <FormDialog
      title="Create token"
      submit="Create token"
      canSubmit={name.trim() !== '' && isFree}
      onSubmit={create}
      onClose={onClose}
    >
      <NameField {...nameField} />
      {warning}
      <Choice
        label="Scope"
        options={[
          { value: 'read', label: 'read: see everything of the account' },
          { value: 'write', label: 'write: also change robots, fleets and tasks' },
        ]}
        value={scope}
        onChange={(value) => setScope(value === 'write' ? 'write' : 'read')}
      />
      <Choice label="Lifetime" options={lifetimes} {...daysField} />
    </FormDialog>
  );
}
