/** Usage and its cost: charts over time, and the sums of each period and group, ordered and paged by core. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { ListView } from '../../../views.ts';
import type { UsageView } from '../../../views-of-usage.ts';
import { ask } from '../lib/api.ts';
import { useIsOperator } from '../lib/session.tsx';
import { useAddress } from '../lib/use-address.ts';
import { Filters, namesOf, Search } from '../listing/listing-parts.tsx';
import { useListing } from '../listing/use-listing.ts';
import { Failed, Loading, Overdue } from '../ui/parts.tsx';
import { CHOICES, Choices, choiceOf, filtersOf } from '../usage/choice.tsx';
import { UsageReport } from '../usage/usage-report.tsx';

/** Shows the page. */
export default function UsagePage() {
  const isOperator = useIsOperator();
  const [address] = useAddress();
  const chosen = choiceOf(address, isOperator);
  const filters = filtersOf(chosen.kind, isOperator);
  const listing = useListing({ order: 'time', descending: true }, [...CHOICES, ...namesOf(filters)]);
  const asked = new URLSearchParams(listing.query);
  const { groups: _groups, ...choice } = choiceOf(asked, isOperator);
  for (const [name, value] of Object.entries(choice)) asked.set(name, value);
  const query = asked.toString();
  for (const name of ['order', 'descending', 'page']) asked.delete(name);
  const course = useRead<UsageView>(`/api/usage/course?${asked}`);
  const sums = useRead<ListView>(`/api/usage?${query}`);
  const failed = [course, sums].find(({ error }) => error);
  return (
    <>
      <div className="title">
        <h1>Usage</h1>
      </div>
      <Search listing={listing} isPlain>
        <Choices choice={chosen} listing={listing} />
        <Filters listing={listing} filters={filters} />
      </Search>
      {course.data && (
        <Overdue
          failureReason={course.failureReason ?? sums.failureReason}
          isPlaceholderData={course.isPlaceholderData || sums.isPlaceholderData}
        />
      )}
      {failed ? (
        <Failed error={failed.error} again={() => void failed.refetch()} />
      ) : !course.data || !sums.data ? (
        <Loading />
      ) : (
        <UsageReport
          usage={course.data}
          sums={sums.data}
          isOld={sums.isPlaceholderData}
          listing={listing}
          query={query}
          bucket={choice.bucket}
        />
      )}
    </>
  );
}

/** Reads a path. The previous data stays until the new data arrives. */
function useRead<Answer>(path: string) {
  return useQuery({
    queryKey: ['usage', path],
    queryFn: () => ask<Answer>('GET', path),
    placeholderData: keepPreviousData,
  });
}
