// Fleets: list, order, form and deletion.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Fleet } from '../../protocol/fleets.ts';
import { ask } from '../api.ts';
import { fleetsQuery } from '../queries.ts';
import { ConfirmDeletion } from '../ui/dialog.tsx';
import { DialogButton } from '../ui/dialog-button.tsx';
import { FirstCall } from '../ui/first-call.tsx';
import { Page } from '../ui/page.tsx';
import { Empty, Loaded, Problem } from '../ui/states.tsx';
import { Freshness } from '../ui/time.tsx';
import { FleetForm } from './fleets/fleet-form.tsx';
import { FleetRows } from './fleets/fleet-rows.tsx';

export default function Fleets() {
  const queries = useQueryClient();
  const fleets = useQuery(fleetsQuery);
  const [edited, setEdited] = useState<Fleet | null>(null);
  const [deleted, setDeleted] = useState<Fleet | null>(null);
  const reorder = useMutation({
    mutationFn: (order: Fleet[]) =>
      ask('POST /api/v1/fleets/reorder', { body: { order: order.map(({ id }) => id) } }),
    async onMutate(order) {
      await queries.cancelQueries({ queryKey: fleetsQuery.queryKey });
      queries.setQueryData(fleetsQuery.queryKey, order);
    },
  });
  return (
    <Page
      title="Fleets"
      lead={<Freshness query={fleets} />}
      actions={<DialogButton label="Add fleet" dialog={FleetForm} />}
    >
      <Problem of={reorder} title="Could not save the order" />
      <Loaded query={fleets} what="fleets">
        {(items) =>
          items.length === 0 ? (
            <Empty title="No fleets yet">
              Group robots by location, shift or work, and filter the overview by fleet.
              <FirstCall call="POST /api/v1/fleets" body={{ name: 'Hall 1' }} by="SVC_TOKEN" />
            </Empty>
          ) : (
            <FleetRows
              fleets={items}
              onReorder={(order) => reorder.mutate(order)}
              onEdit={setEdited}
              onDelete={setDeleted}
            />
          )
        }
      </Loaded>
      {edited && <FleetForm fleet={edited} onClose={() => setEdited(null)} />}
      {deleted && <DeleteFleet fleet={deleted} onClose={() => setDeleted(null)} />}
    </Page>
  );
}

function DeleteFleet({ fleet, onClose }: { fleet: Fleet; onClose: () => void }) {
  return (
    <ConfirmDeletion
      word={fleet.name}
      title={`Delete ${fleet.name}`}
      onClose={onClose}
      onSubmit={() => ask('DELETE /api/v1/fleets/:id', { params: { id: fleet.id } })}
    >
      Its robots become ungrouped. They keep their keys and tasks.
    </ConfirmDeletion>
  );
}
