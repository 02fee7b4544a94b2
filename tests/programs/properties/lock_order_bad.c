#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER, c = PTHREAD_MUTEX_INITIALIZER;

static void both(pthread_mutex_t *first, pthread_mutex_t *second) {
    pthread_mutex_lock(first);
    pthread_mutex_lock(second); // BAD order
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

static void *other(void *arg) {
    both(&b, &c);
    both(&c, &a);
    return arg;
}

int main(void) {
    both(&a, &b);
    // One after the other: this run cannot deadlock.
    pthread_t t;
    pthread_create(&t, NULL, other, NULL);
    pthread_join(t, NULL);
    puts("lucky");
    return 0;
}
