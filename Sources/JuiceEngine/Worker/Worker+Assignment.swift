/// Polling, rebalances and the states of partitions.
extension Worker {
    mutating func poll() throws(LogError) -> Step {
        if isStopping { return leave() }
        if assignment.contains(where: {
            partitions[$0] == nil && trouble.isFailing($0) && !trouble.isAside($0, at: log.now)
        }) {
            // The pause of a partition set aside is over. Restoring tells whether it works again.
            keepStates()
            restore(assignment)
            return .worked
        }
        switch try log.poll(maxRecords: trouble.limit, wait: .briefly) {
        case .records(let records, let ends):
            // Offsets past trailing markers are committed too. Otherwise a partition read to its end would seem to lag.
            let hasPassedMarkers = ends.contains { partitions[$0.partition]?.isBefore($0) ?? false }
            guard !records.isEmpty || hasPassedMarkers else { return .idle }
            phase = .beginning(Batch(records, ends: ends))
        case .assigned(let assigned):
            assign(assigned)
        case .revoked:
            revoke()
        }
        return .worked
    }

    /// Lets the group change the assignment in the middle of something that can take long. No commands are read.
    ///
    /// - Returns: whether the assignment changed.
    mutating func handleRebalance() throws(LogError) -> Bool {
        switch try log.poll(maxRecords: 1, wait: .never) {
        case .assigned(let assigned): assign(assigned)
        case .revoked: revoke()
        // Left over from before `start(at:)`, which will read them again.
        case .records: return false
        }
        return true
    }

    private mutating func assign(_ assigned: [Int32]) {
        onEvent(.assigned(assigned))
        assignment = assigned
        // Starting over restores by itself, once it has the transactional ids.
        if case .startingOver = phase { return }
        restore(assigned)
    }

    mutating func restore(_ assigned: [Int32]) {
        phase = .restoring(Restore(partitions: assigned, kept: kept, applier: applier))
        kept = PartitionTable()
    }

    private mutating func revoke() {
        onEvent(.revoked)
        assignment = []
        trouble.forgetPartitions()
        if case .startingOver = phase { return }
        keepStates()
        phase = .polling
    }

    /// Keeps the states as of their last known commit. Restoring tells whether that still is the last.
    mutating func keepStates() {
        if case .restoring(let restore) = phase { kept = restore.kept }
        for state in partitions {
            state.undo()
            kept[state.partition] = state
        }
        partitions = PartitionTable()
    }

    /// Stops reading a partition. It stays in the assignment, so that no other worker reads on past the fault.
    private mutating func stop(_ partition: Int32, _ fault: PartitionFault) {
        partitions[partition] = nil
        onEvent(.partitionStopped(partition, fault))
    }

    mutating func leave() -> Step {
        log.leave()
        onEvent(.left)
        phase = .stopped
        return .stopped
    }
}

// MARK: - Restoring

extension Worker {
    /// Restoring can take long. So before each part of it the worker handles a rebalance or a request to stop.
    mutating func advance(_ restore: Restore) throws(LogError) -> Step {
        if isStopping { return leave() }
        if try handleRebalance() { return .worked }
        var restore = restore
        switch restore.action {
        case .findRestorePoints(let partitions):
            let found = try log.restorePoints(of: partitions, retention: applier.window.retention)
            for refusal in restore.found(found.points) { stop(refusal.partition, refusal.fault) }
            for (partition, topic) in found.leaderless.sorted(by: { $0.key < $1.key }) {
                setAside(partition, withoutLeader: topic)
            }
        case .openChangelog(let positions):
            try log.openChangelog(positions)
            restore.opened()
        case .readChangelog:
            try restore.read(try log.readChangelog(), now: log.now)
        case .finish:
            try finish(restore)
            return .worked
        }
        phase = .restoring(restore)
        return .worked
    }

    private mutating func finish(_ restore: Restore) throws(LogError) {
        let now = log.now
        let (states, refusals) = restore.finished()
        for state in states where trouble.restored(state.partition) {
            onEvent(.partitionRecovered(state.partition))
        }
        let aside = PartitionTable(states.filter { trouble.isAside($0.partition, at: now) })
        partitions = PartitionTable(states.filter { aside[$0.partition] == nil })
        try log.start(at: partitions.flatMap(\.positions))
        kept = aside
        for refusal in refusals { stop(refusal.partition, refusal.fault) }
        let held = held
        let restored = RestoredState(
            stores: held.stores,
            commands: held.commands,
            records: restore.recordCount
        )
        onEvent(.restored(partitions: partitions.map(\.partition), restored))
        // The first transaction only claims the partitions. If this worker dies with a transaction open, its successor
        // finds in the committed offsets whose transaction that is.
        phase = partitions.contains { _ in true } ? .beginning(Batch()) : .polling
    }

    private mutating func setAside(_ partition: Int32, withoutLeader topic: String) {
        let isNews = trouble.setAside(partition, .leaderless, at: log.now)
        guard isNews else { return }
        let fault = PartitionFault(.leader(topic: topic), "\(topic) [\(partition)] has no leader")
        onEvent(.partitionFailing(partition, fault))
    }
}
