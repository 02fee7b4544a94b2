#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static sem_t over;

static void *work(void *arg) {
    return arg;
}

static void *alone(void *arg) {
    pthread_detach(pthread_self());
    sem_post(&over);
    return arg;
}

int main(void) {
    sem_init(&over, 0, 0);
    for (int i = 0; i < 5; i++) {
        pthread_t a, b, c;
        pthread_create(&a, NULL, work, NULL);
        pthread_create(&b, NULL, alone, NULL);
        pthread_attr_t attr;
        pthread_attr_init(&attr);
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        pthread_create(&c, &attr, work, NULL);
        pthread_attr_destroy(&attr);
        pthread_join(a, NULL);
        sem_wait(&over);
    }
    puts("done");
    return 0;
}
