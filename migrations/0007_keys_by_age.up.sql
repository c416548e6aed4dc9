-- Keys expire by age. A block-range index cannot say which are old for long: the space of those that went is filled with
-- new ones, a summary only ever widens, and after a day or two each range of pages may hold keys of any age. A B-tree can,
-- at about the same price: keys of one batch share their moment, so an entry is little more than the row's address.
DROP INDEX idempotency_keys_by_age;
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

-- A share of a large table is too many dead rows, or too many that the visibility map does not know, to wait for.
ALTER TABLE idempotency_keys SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE transfers SET (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
