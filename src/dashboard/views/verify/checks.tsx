// The checks of a verification.
import './verify.css';
import type { AuditCheck } from '../../../proof/audit-check.ts';
import { Icon } from '../../ui/icon.tsx';

/** Each check with its finding. */
export function Checks({ checks }: { checks: readonly AuditCheck[] }) {
  return (
    <ul className="checks">
      {checks.map(({ name, ok, detail }) => (
        <li key={name} data-ok={ok}>
          <Icon name={ok ? 'check' : 'cross'} />
          <span>
            <span className="hidden">{ok ? 'Holds: ' : 'Fails: '}</span>
            {detail}
          </span>
        </li>
      ))}
    </ul>
  );
}
