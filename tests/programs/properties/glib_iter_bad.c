#include <glib.h>
#include <stdio.h>

int main(void) {
    GHashTable *table = g_hash_table_new(g_direct_hash, g_direct_equal);
    for (int i = 1; i < 10; i++)
        g_hash_table_insert(table, GINT_TO_POINTER(i), GINT_TO_POINTER(i));
    GHashTableIter iter;
    gpointer key;
    g_hash_table_iter_init(&iter, table);
    int steps = 0;
    while (steps < 5 && g_hash_table_iter_next(&iter, &key, NULL)) { // BAD change
        if (steps++ == 2)
            g_hash_table_remove(table, key);
    }
    puts("over");
    g_hash_table_destroy(table);
    return 0;
}
