// row: life cycle.default
export default 5;
