SELECT g.index, (SELECT greatest(coalesce(sum(queued), 0), 0)::bigint FROM endpoint_tally
  WHERE endpoint_id = g.id) AS count
FROM unnest($1::text[]) WITH ORDINALITY AS g(id, index);
