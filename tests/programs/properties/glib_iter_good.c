#include <glib.h>
#include <stdio.h>

int main(void) {
    int sum = 0;
    GHashTable *tables[2];
    for (int t = 0; t < 2; t++) {
        tables[t] = g_hash_table_new(g_direct_hash, g_direct_equal);
        for (int i = 1; i < 10; i++)
            g_hash_table_insert(tables[t], GINT_TO_POINTER(i), GINT_TO_POINTER(i));
    }
    GHashTableIter iter;
    gpointer key;
    for (int t = 0; t < 4; t++) {
        g_hash_table_iter_init(&iter, tables[t % 2]);
        while (g_hash_table_iter_next(&iter, &key, NULL)) {
            sum += GPOINTER_TO_INT(key);
            // A value is replaced, nothing is absent, an entry goes by the iterator: all allowed.
            g_hash_table_insert(tables[t % 2], key, key);
            g_hash_table_remove(tables[t % 2], GINT_TO_POINTER(100));
            if (GPOINTER_TO_INT(key) % 3 == 0)
                g_hash_table_iter_remove(&iter);
        }
        g_hash_table_insert(tables[t % 2], GINT_TO_POINTER(50 + t), NULL);
    }
    printf("%d\n", sum);
    g_hash_table_destroy(tables[0]);
    g_hash_table_destroy(tables[1]);
    return 0;
}
