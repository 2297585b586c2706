-- Done before, where there were webhook calls, without holding up who writes them: core/store/sql/large-indexes.ts.
CREATE INDEX IF NOT EXISTS "webhook_result_given_up_idx" ON "webhook_result" USING btree ("endpoint_id","ended_at") WHERE NOT delivered;
