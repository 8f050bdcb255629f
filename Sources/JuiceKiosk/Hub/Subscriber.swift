import JuiceMaker
import NIOCore
import Synchronization

/// What a page shows.
struct PageView: Hashable, Sendable {
    /// The store whose stock it shows.
    let store: Name
    /// Whether its board covers all stores.
    let showsAll: Bool

    /// The store that its board covers; nil is all stores.
    var scope: Name? { showsAll ? nil : store }
}

/// One open page.
final class Subscriber: Sendable {
    let view: PageView
    /// The page's own name for itself. Answers to its commands are sent to this name.
    let page: Name
    /// Yields when frames are waiting; several posts may yield once.
    let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    private let mailbox = Mutex(Mailbox<ByteBuffer>())

    init(view: PageView, page: Name) {
        self.view = view
        self.page = page
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Changes the mailbox and wakes the writer.
    func post(_ change: (inout Mailbox<ByteBuffer>) -> Void) {
        mailbox.withLock { change(&$0) }
        wake.yield()
    }

    /// Removes all waiting frames and returns them as one buffer.
    func drain() -> ByteBuffer {
        mailbox.withLock { $0.drain() }.reduce(into: ByteBuffer()) { $0.writeImmutableBuffer($1) }
    }

    /// Ends the stream of the page.
    func close() { wake.finish() }
}
