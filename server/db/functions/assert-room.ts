/**
 * Fails with `disk_full` unless 16 MB can be written next to the tables. It sorts in a temporary file, which leaves
 * nothing behind.
 */
export const ASSERT_ROOM = `create or replace function assert_room() returns void
language plpgsql set work_mem = '64kB' as $$
begin
  perform count(*) from (select repeat(md5(n::text), 64) from generate_series(1, 8000) n order by 1 offset 0) t;
end
$$`
