// Which tasks and sends of a pipeline the end of its step waited for.

import type { Timeline } from "./data";

/** A task, or what is sent: index in the timeline's tasks or transfers. */
export interface Link {
  task: number;
  transfer: number;
  start: number;
  end: number;
}

/**
 * From the first to the last. Each begins when the one before it ends: the same group's task before
 * it if that ended then, else what the group was sent, else the next task of any group.
 */
export function schedulePath(tasks: Timeline): Link[] {
  const slack = 3e-7 * tasks.seconds;
  const ofTask = (task: number): Link => ({ task, transfer: -1, start: tasks.start[task], end: tasks.end[task] });
  const ofTransfer = (transfer: number): Link => ({ task: -1, transfer, start: tasks.transfers.start[transfer], end: tasks.transfers.end[transfer] });
  // By the moment at which they end, in units of the slack: what ends together stands together.
  const moment = (time: number) => Math.round(time / (slack || 1));
  const ending = new Map<number, Link[]>();
  const add = (link: Link) => {
    if (link.end > link.start) ending.set(moment(link.end), [...(ending.get(moment(link.end)) ?? []), link]);
  };
  tasks.group.forEach((_, i) => add(ofTask(i)));
  tasks.transfers.from.forEach((_, i) => add(ofTransfer(i)));
  const endsAt = (time: number) => [0, -1, 1].flatMap((by) => ending.get(moment(time) + by) ?? []);
  const groupOf = (link: Link) => (link.task >= 0 ? tasks.group[link.task] : tasks.transfers.from[link.transfer] % tasks.groups);
  const path: Link[] = [];
  const last = tasks.end.reduce((best, end, i) => (end > tasks.end[best] ? i : best), 0);
  let link: Link | undefined = tasks.group.length > 0 ? ofTask(last) : undefined;
  while (link) {
    path.push(link);
    const now: Link = link;
    const group = groupOf(now);
    const candidates = endsAt(now.start).filter((one) => one.start < now.start - slack / 2);
    link =
      candidates.find((one) => one.task >= 0 && tasks.group[one.task] === group) ??
      candidates.find((one) => one.transfer >= 0 && now.task >= 0 && tasks.transfers.to[one.transfer] % tasks.groups === group) ??
      candidates[0];
  }
  return path.reverse();
}
