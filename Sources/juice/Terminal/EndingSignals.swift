import Dispatch
import Foundation
import Kafka
import Synchronization

/// Handles the signals that end a command. Nothing else reacts to them.
///
/// A signal handler may do next to nothing, and the main thread is mostly in a call to librdkafka. So the handler writes the
/// signal's number into a pipe, for a thread that waits there. By default that thread ends the process at once, between two writes.
/// If a command has something to finish, as the service does, the first signal asks it to stop; a second one ends it at once.
enum EndingSignals {
    private static let stop = Mutex<StopSignal?>(nil)
    private static let pipe = Pipe()
    private static let (reader, writer) = (pipe.fileHandleForReading.fileDescriptor, pipe.fileHandleForWriting.fileDescriptor)

    /// Handles the signals from now on.
    static func handle() {
        // Writes detect a closed output pipe. A broker that closes its connection must not end the process.
        signal(SIGPIPE, SIG_IGN)
        // On a terminal, Swift's runtime would treat this as a crash, and ask what to show.
        signal(SIGQUIT, SIG_DFL)
        // A failed assertion in librdkafka names its place. Swift's runtime would first examine all threads, which takes long, and
        // its helper process keeps the ports.
        signal(SIGABRT, SIG_DFL)
        Thread.detachNewThread { [reader] in
            var number: UInt8 = 0
            while read(reader, &number, 1) != 1 {}
            if let stop = stop.withLock(\.self) {
                stop.request()
                while read(reader, &number, 1) != 1 {}
            }
            end(by: Int32(number))
        }
        var numbers = sigset_t()
        sigemptyset(&numbers)
        for number in [SIGINT, SIGTERM, SIGHUP] {
            sigaddset(&numbers, number)
            let former = signal(number) { number in
                let code = errno
                var byte = UInt8(number)
                _ = Foundation.write(EndingSignals.writer, &byte, 1)
                errno = code
            }
            // `nohup` ignores SIGHUP for its command, which then outlives the terminal.
            if number == SIGHUP, unsafeBitCast(former, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) {
                signal(number, SIG_IGN)
            }
        }
        // The thread that started this program may have blocked them.
        pthread_sigmask(SIG_UNBLOCK, &numbers, nil)
    }

    /// Makes the first signal request a stop, instead of ending the process, and returns that request.
    static func stopSignal() -> StopSignal {
        let request = StopSignal()
        stop.withLock { $0 = request }
        return request
    }

    private static func end(by number: Int32) -> Never {
        // Let a write in progress finish, so that no line is cut. Do not wait for long: the reader may be stuck.
        var attempts = 25
        while attempts > 0, StandardOutput.turn.wait(timeout: .now()) == .timedOut {
            Thread.sleep(forTimeInterval: 0.01)
            attempts -= 1
        }
        // The shell's prompt must not follow a line of progress.
        if isatty(STDERR_FILENO) == 1 { _ = writeAll([UInt8(ascii: "\n")], to: STDERR_FILENO) }
        // End by the signal itself, not just with its status, so that a loop in a shell script ends, too.
        signal(number, SIG_DFL)
        raise(number)
        // The first process of a container ignores the signal.
        _exit(128 + number)
    }
}
