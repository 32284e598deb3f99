// Figures from the series of /v1/history. null is unknown.
const known = (values) => (values ?? []).filter((value) => value !== null && value !== undefined);
const settled_steps = 30;  // long enough for a trend
const passing_seconds = 2;  // a backlog of so much work is under way, and none

export const last = (values) => known((values ?? []).slice(-settled_steps)).at(-1) ?? null;

/** The mean of about the last minute. */
export function recent(values, stepSeconds) {
  const some = known((values ?? []).slice(-Math.max(1, Math.round(60 / stepSeconds))));
  return some.length === 0 ? null : some.reduce((sum, value) => sum + value, 0) / some.length;
}

/**
 * Seconds until a backlog is worked off at its present pace: 0: there is none, or no more than passes within moments at
 * `perSecond`; Infinity: it grows or stays; null: unknown.
 */
export function catchUp(backlog, stepSeconds, perSecond = 0) {
  const now = last(backlog);
  if (now === null) return null;
  if (now <= passing_seconds * (perSecond ?? 0)) return 0;
  const before = (backlog ?? []).slice(-settled_steps);
  const first = before.findIndex((value) => value !== null && value !== undefined);
  const steps = before.length - 1 - first;
  if (steps < 3) return null;
  const shrinks = (before[first] - now) / (steps * stepSeconds);
  return shrinks > 0 ? now / shrinks : Infinity;
}

/** The sum of series, step by step; null where all are unknown. */
export function sum(series) {
  const length = Math.max(0, ...series.map((each) => each?.length ?? 0));
  return Array.from({length}, (_, at) => {
    const some = known(series.map((each) => each?.[at]));
    return some.length === 0 ? null : some.reduce((total, value) => total + value, 0);
  });
}

export const largest = (series) => {
  const length = Math.max(0, ...series.map((each) => each?.length ?? 0));
  return Array.from({length}, (_, at) => {
    const some = known(series.map((each) => each?.[at]));
    return some.length === 0 ? null : Math.max(...some);
  });
};
