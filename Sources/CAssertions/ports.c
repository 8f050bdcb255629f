#define _GNU_SOURCE
#include "CAssertions.h"

#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static _Thread_local uint16_t chosen;

bool ports_choose(uint16_t port) {
    chosen = port;
    if (!port) return true;
    /* librdkafka ends the process where it cannot bind its own socket. */
    const struct sockaddr_in loopback = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int trial = socket(AF_INET, SOCK_STREAM, 0);
    const bool is_free = trial >= 0 && !bind(trial, (const struct sockaddr *)&loopback, sizeof loopback);
    close(trial);
    return is_free;
}

#if defined(__GLIBC__)
/* As with __assert_fail, the executable's own function takes the place of glibc's. */
int bind(int socket, __CONST_SOCKADDR_ARG address, socklen_t size) {
    struct sockaddr_in with_port;
    if (chosen && address.__sockaddr__->sa_family == AF_INET) {
        with_port = *address.__sockaddr_in__;
        with_port.sin_port = htons(chosen);
        address.__sockaddr_in__ = &with_port;
        /* Connections of a process that ended a moment ago do not keep the port. */
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    }
    int (*bind)(int, __CONST_SOCKADDR_ARG, socklen_t) = dlsym(RTLD_NEXT, "bind");
    return bind(socket, address, size);
}
#endif
