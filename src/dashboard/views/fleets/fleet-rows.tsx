// The rows of fleets, which are reordered by dragging or by keyboard.
import { ActionIcon, Button, Text } from '@mantine/core';
import { type KeyboardEvent, useState } from 'react';
import { Link } from 'wouter';
import type { Fleet } from '../../../protocol/fleets.ts';
import { Badge } from '../../ui/badge.tsx';
import { Icon } from '../../ui/icon.tsx';
import { counted } from '../../ui/values.tsx';
import './fleets.css';

interface FleetRowsProps {
  fleets: Fleet[];
  onReorder: (order: Fleet[]) => void;
  onEdit: (fleet: Fleet) => void;
  onDelete: (fleet: Fleet) => void;
}

const directions = [
  { name: 'up', by: -1 },
  { name: 'down', by: 1 },
] as const;

/** Fleets in display order. A row is moved by dragging it, or with the arrow keys on its handle. */
export function FleetRows({ fleets, onReorder, onEdit, onDelete }: FleetRowsProps) {
  const [dragged, setDragged] = useState<string | null>(null);
  const [over, setOver] = useState<string | null>(null);
  const [said, setSaid] = useState('');
  const move = (id: string, to: number) => {
    const fleet = fleets.find((one) => one.id === id);
    if (fleet === undefined || fleets[to] === undefined || fleets[to] === fleet) return;
    const order = fleets.filter((one) => one !== fleet);
    order.splice(to, 0, fleet);
    onReorder(order);
    setSaid(`${fleet.name} is now number ${to + 1} of ${fleets.length}`);
  };
  const onKey = (event: KeyboardEvent, id: string, place: number) => {
    const to = { ArrowUp: place - 1, ArrowDown: place + 1, Home: 0, End: fleets.length - 1 }[
      event.key
    ];
    if (to === undefined) return;
    event.preventDefault();
    move(id, to);
  };
  return (
    <>
      <ol className="fleets" aria-label="Fleets in display order">
        {fleets.map((fleet, place) => (
          <li
            key={fleet.id}
            className="card fleet"
            data-over={(over === fleet.id && dragged !== fleet.id) || undefined}
            data-dragged={dragged === fleet.id || undefined}
            draggable
            onDragStart={(event) => {
              event.dataTransfer.effectAllowed = 'move';
              event.dataTransfer.setData('text/plain', fleet.id);
              setDragged(fleet.id);
            }}
            onDragEnd={() => {
              setDragged(null);
              setOver(null);
            }}
            onDragOver={(event) => {
              event.preventDefault();
              setOver(fleet.id);
            }}
            onDrop={(event) => {
              event.preventDefault();
              if (dragged !== null) move(dragged, place);
            }}
          >
            <button
              type="button"
              className="grip"
              aria-label={`Move ${fleet.name}, number ${place + 1} of ${fleets.length}`}
              aria-describedby="reorder-help"
              onKeyDown={(event) => onKey(event, fleet.id, place)}
            >
              <Icon name="grip" />
            </button>
            {/* For touch, which cannot drag. */}
            <span className="moves">
              {directions.map(({ name, by }) => (
                <ActionIcon
                  key={name}
                  size="lg"
                  aria-label={`Move ${fleet.name} ${name}`}
                  disabled={fleets[place + by] === undefined}
                  onClick={() => move(fleet.id, place + by)}
                >
                  <Icon name={name} />
                </ActionIcon>
              ))}
            </span>
            <div className="fleet-text">
              <Text fw={600} component="h2" size="md">
                {fleet.name}
              </Text>
              <Text c="dimmed">
                <Link href={`/robots?fleet=${fleet.id}`}>
                  {counted(fleet.robot_count, 'robot')}
                </Link>
                {[fleet.location, fleet.shift && `shift ${fleet.shift}`]
                  .filter(Boolean)
                  .map((text) => ` · ${text}`)}
              </Text>
              {fleet.description && <Text>{fleet.description}</Text>}
              {fleet.tags.length > 0 && (
                <div className="chips">
                  {fleet.tags.map((tag) => (
                    <Badge key={tag} tone="plain">
                      {tag}
                    </Badge>
                  ))}
                </div>
              )}
            </div>
            <div className="fleet-actions">
              <Button size="xs" aria-label={`Edit ${fleet.name}`} onClick={() => onEdit(fleet)}>
                Edit
              </Button>
              <Button
                size="xs"
                className="danger"
                aria-label={`Delete ${fleet.name}`}
                onClick={() => onDelete(fleet)}
              >
                Delete
              </Button>
            </div>
          </li>
        ))}
      </ol>
      <Text size="xs" c="dimmed" id="reorder-help">
        Drag a fleet to change the order, use its arrows, or press the arrow keys on its handle.
      </Text>
      <p className="hidden" role="status">
        {said}
      </p>
    </>
  );
}
