/* Iterators over GLib's hash tables, as often as asked; `bug` uses one that an insertion made invalid.
   Usage: tables ROUNDS [bug] */
#include "bench.h"
#include <glib.h>

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    long rounds = atol(argv[1]);
    GHashTable *table = g_hash_table_new(g_direct_hash, g_direct_equal);
    for (long i = 0; i < 8; i++)
        g_hash_table_insert(table, GINT_TO_POINTER(i), NULL);
    GHashTableIter iter;
    gpointer key;
    bench_begin();
    for (long r = 0; r < rounds; r++) {
        g_hash_table_iter_init(&iter, table);
        while (g_hash_table_iter_next(&iter, &key, NULL))
            ;
        g_hash_table_insert(table, GINT_TO_POINTER(3), key);
    }
    bench_end("");
    if (argc > 2) {
        g_hash_table_iter_init(&iter, table);
        g_hash_table_iter_next(&iter, &key, NULL);
        g_hash_table_insert(table, GINT_TO_POINTER(100), NULL);
        g_hash_table_iter_next(&iter, &key, NULL);
    }
    return 0;
}
