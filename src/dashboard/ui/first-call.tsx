// How to fill an empty list from a terminal: the request, and where the interface is described.
import { Anchor } from '@mantine/core';
import type { Call } from '../api.ts';
import { Command } from './values.tsx';

interface FirstCallProps {
  call: Extract<Call, `POST ${string}`>;
  body: object;
  /** Who may send the request: a script of the account, or a robot. */
  by: 'SVC_TOKEN' | 'ROBOT_KEY';
}

export function FirstCall({ call, body, by }: FirstCallProps) {
  const request = [
    `curl ${window.location.origin}${call.replace('POST ', '')}`,
    `-H "Authorization: Bearer $${by}" -H 'Content-Type: application/json'`,
    `-d '${JSON.stringify(body)}'`,
  ].join(' \\\n  ');
  return (
    <div className="stack">
      <div>
        {by === 'ROBOT_KEY' ? 'With the API key of a robot:' : 'From a script, with a token:'}
      </div>
      <Command value={request} what="request" />
      <Anchor href="/docs">HTTP interface</Anchor>
    </div>
  );
}
