// What a claim may take.

/** What a claim may take: calls that want a worker and whose owner is neither the claimer ($1) nor alive. */
export const claimable = `state IN ('received', 'queued', 'running') AND (owner IS NULL OR owner <> $1
  AND NOT EXISTS (SELECT 1 FROM workers WHERE workers.id = calls.owner AND until > clock_timestamp()))`

/** And no living worker but the claimer has a part of its line. */
export const lineIsFree = `(line IS NULL OR wait IS NOT NULL OR NOT EXISTS (SELECT 1 FROM calls AS o JOIN workers AS w ON w.id = o.owner
  WHERE o.line = calls.line AND o.state IN ('received', 'queued', 'running') AND o.wait IS NULL AND o.owner <> $1 AND w.until > clock_timestamp()))`
