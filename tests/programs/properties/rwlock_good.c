#include <pthread.h>
#include <stdio.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int value;

static void *reader(void *arg) {
    long seen = 0;
    for (int i = 0; i < 10; i++) {
        pthread_rwlock_rdlock(&lock);
        pthread_rwlock_rdlock(&lock);
        seen += value >= 0;
        pthread_rwlock_unlock(&lock);
        pthread_rwlock_unlock(&lock);
    }
    *(long *)arg = seen;
    return NULL;
}

int main(void) {
    long seen[2];
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, reader, &seen[i]);
    for (int i = 0; i < 10; i++) {
        pthread_rwlock_wrlock(&lock);
        value++;
        pthread_rwlock_unlock(&lock);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    pthread_rwlock_destroy(&lock);
    printf("%ld %ld %d\n", seen[0], seen[1], value);
    return 0;
}
