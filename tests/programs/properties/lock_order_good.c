#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t locks[4];
static int total;

static void *worker(void *arg) {
    for (int round = 0; round < 5; round++)
        for (int i = 0; i < 3; i++) {
            pthread_mutex_lock(&locks[i]);
            pthread_mutex_lock(&locks[i + 1]);
            total++;
            pthread_mutex_unlock(&locks[i]);
            pthread_mutex_unlock(&locks[i + 1]);
        }
    return arg;
}

int main(void) {
    for (int i = 0; i < 4; i++)
        pthread_mutex_init(&locks[i], NULL);
    worker(NULL);
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, worker, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    puts("done");
    return 0;
}
