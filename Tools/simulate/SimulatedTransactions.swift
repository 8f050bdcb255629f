import JuiceDomain
import JuiceEngine

/// How a transaction ends.
enum Decision: String { case commit, abort }

/// What the transaction coordinator knows of a transactional id: its epoch, and its open or last transaction.
///
/// A transaction ends in two phases: the decision, and a marker in each of its partitions. Each marker comes when the scheduler
/// decides. Until all are written, the id can neither begin a transaction nor be taken over.
struct SimulatedTransaction {
    /// A broker's answer to a transactional request.
    enum Reply {
        case done
        /// Somebody else has taken over the id.
        case fenced
        /// Markers are missing: ask again.
        case concurrent
        /// There is nothing that could end like this.
        case invalid
    }

    private enum State: Equatable {
        case ended(Decision?)
        case ongoing
        case ending(Decision)
    }

    let id: String
    private(set) var epoch = 0
    private var state = State.ended(nil)
    private var begunAt: Timestamp = 0
    /// The partitions of the transaction, of which those are left whose marker is missing.
    private(set) var places: Set<Place> = []

    init(id: String) { self.id = id }

    var isOngoing: Bool { state == .ongoing }
    /// Whether markers are missing.
    var isEnding: Bool { if case .ending = state { true } else { false } }

    /// Takes over the id: aborts its open transaction and fences older epochs.
    ///
    /// The epoch rises when a transaction is aborted for it, and again once all markers are written. While only markers are
    /// missing it stays.
    mutating func takeOver() -> Reply {
        if isEnding { return .concurrent }
        epoch += 1
        state = isOngoing ? .ending(.abort) : .ended(nil)
        return isEnding ? .concurrent : .done
    }

    /// Aborts a transaction that has been open for too long: since before a time.
    mutating func timeOut(begunBefore time: Timestamp = .max) {
        if isOngoing, begunAt < time { _ = takeOver() }
    }

    /// Adds a partition to the open transaction, or to a new one.
    mutating func add(_ place: Place, epoch: Int, at now: Timestamp) -> Reply {
        guard self.epoch == epoch else { return .fenced }
        if isEnding { return .concurrent }
        if !isOngoing { (state, begunAt) = (.ongoing, now) }
        places.insert(place)
        return .done
    }

    /// Whether a partition is part of the open transaction, as brokers ask before they begin to write there.
    func verify(_ place: Place, epoch: Int) -> Bool { self.epoch == epoch && isOngoing && places.contains(place) }

    /// Ends the open transaction. Its markers follow. The brokers cannot tell transactions of one epoch apart.
    mutating func end(_ decision: Decision, epoch: Int) -> Reply {
        guard self.epoch == epoch else { return .fenced }
        switch state {
        case .ongoing:
            state = .ending(decision)
            return .done
        case .ending(let other): return other == decision ? .concurrent : .invalid
        case .ended(let other): return other == decision ? .done : .invalid
        }
    }

    /// Removes one of the partitions whose marker is missing, at random.
    mutating func nextMarker(
        using random: inout SeededGenerator, where isWritable: (Place) -> Bool
    ) -> (place: Place, decision: Decision)? {
        // In order, so that runs are repeatable.
        guard case .ending(let decision) = state, let place = random.pick(places.filter(isWritable).sorted()) else { return nil }
        places.remove(place)
        if places.isEmpty { state = .ended(decision) }
        return (place, decision)
    }
}

extension [SimulatedTransaction] {
    /// Those whose markers are not all written.
    var ending: [Int] { indices.filter { self[$0].isEnding } }

    mutating func timeOut(begunBefore time: Timestamp = .max) {
        for number in indices { self[number].timeOut(begunBefore: time) }
    }
}

/// The first copy of a transactional request that the client gave up on and resent.
struct LateRequest {
    let text: String
    /// The number of the transactional id.
    let producer: Int
    /// Whether it ends a transaction, and so may end another one than it was meant for.
    let isEnd: Bool
    let send: (SimulatedCluster) -> SimulatedTransaction.Reply
}

extension SimulatedCluster {
    /// The number of a transactional id, under which it is known from then on.
    func number(of id: String) -> Int {
        if let number = transactions.firstIndex(where: { $0.id == id }) { return number }
        transactions.append(SimulatedTransaction(id: id))
        return transactions.count - 1
    }

    /// Keeps the first copy of a request at times, which arrives when the scheduler decides, or never.
    ///
    /// A late Produce is not kept, since its sequence number identifies it.
    func keepLate(
        _ text: String, of producer: Int, isEnd: Bool = false, _ send: @escaping (SimulatedCluster) -> SimulatedTransaction.Reply
    ) {
        guard resending > 0, random.chance(resending) else { return }
        lateRequests.append(LateRequest(text: text, producer: producer, isEnd: isEnd, send: send))
    }

    /// Delivers one of the late requests. The coordinator checks id and epoch only: it cannot tell transactions of one epoch
    /// apart.
    func receiveLateRequest() {
        guard !lateRequests.isEmpty else { return }
        // Those that may do harm now come first: a decision about a transaction that is open.
        let harmful = lateRequests.indices.filter { lateRequests[$0].isEnd && transactions[lateRequests[$0].producer].isOngoing }
        guard let index = random.pick(harmful) ?? random.pick(lateRequests.indices) else { return }
        let request = lateRequests.remove(at: index)
        let reply = request.send(self)
        trace?("late \(request.text) of \(transactions[request.producer].id): \(reply)")
    }

    /// What others do in the middle of a call.
    func interlude() {
        guard isDisorderly() else { return }
        switch random.number(0...2) {
        case 0: receiveLateRequest()
        case 1: writeMarker()
        default: deliver()
        }
    }

    /// Delivers a record that is under way.
    func deliver() {
        sending.removeAll { !$0.hasQueue }
        random.pick(sending)?.deliver()
    }

    /// Writes one of the markers that are due.
    func writeMarker() {
        if let producer = random.pick(transactions.ending) { writeMarker(of: producer) }
    }

    /// - Returns: whether one could be written.
    @discardableResult private func writeMarker(of producer: Int) -> Bool {
        let marker = transactions[producer].nextMarker(using: &random) { !self[$0].isLeaderless }
        guard let (place, decision) = marker else { return false }
        self[place].appendMarker(of: producer, decision)
        return true
    }

    func writeAllMarkers() {
        for producer in transactions.ending { while writeMarker(of: producer) {} }
    }

    /// Takes over transactional ids without a failure.
    func fenceAtOnce(_ ids: Set<String>) {
        for producer in ids.sorted().map(number) {
            for _ in 0..<2 where transactions[producer].takeOver() != .done { while writeMarker(of: producer) {} }
        }
    }
}
