import JuiceMaker

/// Makes partition states and restores them: what all of them have in common.
struct PartitionFactory {
    let menu: Menu
    let window: DuplicateWindow
    /// How many partitions the stores are spread over.
    let partitionCount: Int32
    let stateType: PartitionState.Type
    let applier: ChangelogApplier

    func makeState(at point: RestorePoint) -> PartitionState {
        stateType.init(point, menu: menu, window: window)
    }
}
