#include "tick.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *arg) {
    for (int i = 0; i < 50; i++) {
        free(malloc(10));
        pthread_mutex_lock(&m);
        tick(1);
        pthread_mutex_unlock(&m);
    }
    return arg;
}
int main(void) {
    pthread_t t[8];
    for (long i = 0; i < 8; i++)
        pthread_create(&t[i], NULL, work, (void *)i);
    long sum = 0;
    for (int i = 0; i < 8; i++) {
        void *result;
        pthread_join(t[i], &result);
        sum += (long)result;
    }
    printf("%d %ld\n", ticks, sum);
    return 0;
}
